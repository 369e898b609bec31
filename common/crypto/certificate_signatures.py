"""Signatures by the key of a TLS certificate that the manifest lists: those of the curator, which has no other key.

They are over ``privity.common.crypto.identity.tagged`` bytes, as a party's are. Nothing that TLS signs begins so, and
nothing of a TLS session enters them.
"""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from privity.common.crypto.identity import tagged


def sign_by_key(key_pem: bytes, domain: str, message: bytes) -> bytes:
    """An ECDSA signature that is valid for ``domain`` alone; ValueError unless it is the private key of a member."""
    private = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise ValueError("the key of a certificate must be EC P-256")
    return private.sign(tagged(domain, message), ec.ECDSA(hashes.SHA256()))


def verify_by_certificate(certificate_pem: bytes, domain: str, message: bytes, signature: bytes) -> None:
    """Raises ValueError unless it is a signature by the key of this certificate over ``message`` in ``domain``.

    Whether the certificate has expired does not count: the manifest lists it.
    """
    public = x509.load_pem_x509_certificate(certificate_pem).public_key()
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise ValueError("the key of a certificate must be EC P-256")
    try:
        public.verify(signature, tagged(domain, message), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise ValueError("the signature is not the sender's signature over this content") from None
