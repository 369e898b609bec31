{{- define "privity.labels" -}}
app.kubernetes.io/name: privity
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.role }}
{{- end }}

{{- define "privity.image" -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- end }}

{{- define "privity.hardened" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* The member's files, from the Secret to where the node reads them, for its user only. Settings are the Secret's at
every start. Keys are laid once: renewed ones, and a party's newer manifest, came to be on the volume and stay. */ -}}
{{- define "privity.lay" -}}
set -eu
umask 077
setting() { install -m 600 "/member/$1" "/node/$1"; }
key() { [ -e "/node/$2$1" ] || install -m 600 "/member/$1" "/node/$2$1"; }
for file in organiser.pub schema.json {{ .Values.role }}.toml; do
  setting "$file"
done
key tls.key ""
for file in /member/join-*.json; do
  key "$(basename "$file")" ""
done
{{- if eq .Values.role "party" }}
for file in policy.toml; do
  setting "$file"
done
key tls.pem ""
mkdir -p /node/keys
for file in signing.pem sealing.pem agreement.pem; do
  key "$file" keys/
done
{{- else }}
exec privity-curator accept /member/manifest.json --config /node/curator.toml
{{- end }}
{{- end }}

{{- /* The ledgers lie on the node's volume, also for commands that are run in the pod. */ -}}
{{- define "privity.state" -}}
- name: XDG_STATE_HOME
  value: /node/state
{{- end }}

{{- /* A text for env as it stands: Kubernetes reads $(NAME) in it as a variable, and $$ as a dollar. */ -}}
{{- define "privity.literal" -}}
{{ . | replace "$" "$$" | quote }}
{{- end }}

{{- /* Declare the population once: a total that was changed by command later is not undone. A ledger that is there but
cannot be used is not replaced either: `declare` refuses it, too, and says why. */ -}}
{{- define "privity.declare" -}}
set -eu
umask 077
privity party ledger --population="$POPULATION" > /dev/null 2>&1 ||
  privity population declare --total-epsilon "$TOTAL_EPSILON" --total-delta "$TOTAL_DELTA" \
    --rows-per-person "$ROWS_PER_PERSON" -- "$POPULATION"
{{- end }}
