"""A certificate authority and server certificates for tests, made with openssl."""

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from cache import SetupError
from patience import patience_s

DAYS = 30
HOST_NAMES = ["localhost"]
ADDRESSES = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]


def openssl(*arguments):
    program = shutil.which("openssl")
    if program is None:
        raise SetupError("openssl is missing: apt-get install openssl")
    done = subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=patience_s(60))
    if done.returncode != 0:
        raise SetupError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")


def write_secret(path, text=None):
    """A file that only its owner reads; a fresh random password unless a text is given."""
    secret = secrets.token_urlsafe(18) if text is None else text
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(secret + "\n")
    return secret


def make_authority(directory, name="ca"):
    """NAME.pem and NAME.key in the directory; returns the path of the certificate."""
    directory = Path(directory)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-days", DAYS, "-subj", f"/CN=Cistern test authority {name}",
            "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
            "-keyout", directory / f"{name}.key", "-out", directory / f"{name}.pem")
    return directory / f"{name}.pem"


def make_server_certificate(directory, name="server", authority="ca", host_names=None,
                            addresses=None, days=DAYS, extended_key_usage="serverAuth"):
    """NAME.pem, NAME.key and NAME.p12 (password in NAME.p12.password), signed by the authority.

    host_names and addresses become the subject alternative names. days may be negative: the
    certificate is then over already.
    """
    directory = Path(directory)
    host_names = HOST_NAMES if host_names is None else host_names
    addresses = ADDRESSES if addresses is None else addresses
    extensions = directory / f"{name}.ext"
    names = [f"DNS:{host}" for host in host_names] + [f"IP:{address}" for address in addresses]
    extensions.write_text(f"subjectAltName = {', '.join(names)}\n"
                          "basicConstraints = CA:FALSE\n"
                          "keyUsage = critical,digitalSignature\n"
                          f"extendedKeyUsage = {extended_key_usage}\n", encoding="utf-8")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", f"/CN={host_names[0] if host_names else name}",
            "-keyout", directory / f"{name}.key", "-out", directory / f"{name}.csr")
    openssl("x509", "-req", "-in", directory / f"{name}.csr", "-days", days,
            "-CA", directory / f"{authority}.pem", "-CAkey", directory / f"{authority}.key",
            "-CAcreateserial", "-extfile", extensions, "-out", directory / f"{name}.pem")
    password_file = directory / f"{name}.p12.password"
    write_secret(password_file)
    openssl("pkcs12", "-export", "-in", directory / f"{name}.pem",
            "-inkey", directory / f"{name}.key", "-passout", f"file:{password_file}",
            "-out", directory / f"{name}.p12")
    return directory / f"{name}.pem"
