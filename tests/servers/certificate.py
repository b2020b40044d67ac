"""A certificate for 127.0.0.1 that vouches for itself."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

CURVE = ec.SECP256R1()


def make_certificate(folder: Path, *, with_rsa: bool = False) -> Path:
    """Write a new key with its certificate to `server.pem`.

    Args:
        with_rsa: Make an RSA key, which takes longer, for servers that know no elliptic curves.

    Returns:
        The file with the certificate alone, `trusted.pem`: what clients trust.
    """
    key = rsa.generate_private_key(65537, 2048) if with_rsa else ec.generate_private_key(CURVE)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names: list[x509.GeneralName] = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    server, trusted = folder / "server.pem", folder / "trusted.pem"
    server.touch(mode=0o600)
    server.write_bytes(private + pem)
    trusted.write_bytes(pem)
    return trusted
