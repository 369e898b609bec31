{{- define "privity.labels" -}}
app.kubernetes.io/name: privity
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.role }}
{{- end }}

{{- define "privity.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "privity.hardened" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* The member's files, from the Secret to where the node reads them, for its user only. What came from elsewhere
since, a party's newer manifest above all, stays. */ -}}
{{- define "privity.lay" -}}
set -eu
umask 077
for file in organiser.pub schema.json tls.key {{ .Values.role }}.toml; do
  cp "/member/$file" "/node/$file"
done
{{- if eq .Values.role "party" }}
for file in authority.pem tls.pem policy.toml; do
  cp "/member/$file" "/node/$file"
done
mkdir -p /node/keys
for file in signing.pem sealing.pem agreement.pem; do
  cp "/member/$file" "/node/keys/$file"
done
{{- else }}
exec privity-curator accept /member/manifest.json --config /node/curator.toml
{{- end }}
{{- end }}
