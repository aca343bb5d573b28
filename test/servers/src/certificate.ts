// A certificate for TLS, and an authority that made only this one.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePackaged } from './programs.js';

/** All three are PEM texts. */
export interface Certificate {
  /** The certificate of the authority, which a client has to trust. */
  readonly ca: string;
  /** The private key of the server, as PKCS #8. */
  readonly key: string;
  readonly certificate: string;
}

/** The distinguished names come from the command line. */
const CONFIG = `[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[server]
subjectAltName = IP:127.0.0.1, DNS:localhost
extendedKeyUsage = serverAuth
`;
const NEW_KEY = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
const DAYS = '-days 2';

const run = promisify(execFile);

/** Makes a certificate for 127.0.0.1 and localhost. It is valid for two days. */
export async function makeCertificate(): Promise<Certificate> {
  const program = await ensurePackaged('openssl');
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  const openssl = (command: string) => run(program, command.split(' '), { cwd: folder });
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  try {
    await writeFile(join(folder, 'config'), CONFIG);
    await openssl(
      `req -config config -x509 ${DAYS} -extensions authority -subj /CN=test-servers ${NEW_KEY} -keyout ca.key -out ca`,
    );
    await openssl(`req -config config -subj /CN=127.0.0.1 ${NEW_KEY} -keyout key -out request`);
    await openssl(
      `x509 -req -in request -CA ca -CAkey ca.key -set_serial 1 ${DAYS} -extfile config -extensions server -out certificate`,
    );
    return { ca: await read('ca'), key: await read('key'), certificate: await read('certificate') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
