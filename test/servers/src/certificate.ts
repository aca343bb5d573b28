// Certificates for TLS, and the authorities that make them.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePackaged } from './programs.js';

/** Both are PEM texts. */
export interface KeyPair {
  /** The private key, as PKCS #8. */
  readonly key: string;
  readonly certificate: string;
}

export interface Certificate extends KeyPair {
  /** The certificate of the authority, which the other side has to trust: a PEM text. */
  readonly ca: string;
}

export interface CertificateOptions {
  /** Its subject alternative names, as openssl writes them. @default 'IP:127.0.0.1, DNS:localhost' */
  readonly names?: string;
  /** Its time was over yesterday. @default false: it is valid for two days */
  readonly expired?: boolean;
}

const CONFIG = `[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
`;
const NEW_KEY = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
const VALID = '-days 2';
const EXPIRED = '-days -1';

const run = promisify(execFile);
/** Serial number of the last certificate. */
let serial = 0;

/** An authority of its own: nobody trusts it who was not given its certificate. */
export class Authority {
  private constructor(
    private readonly key: string,
    /** A PEM text. */
    readonly certificate: string,
  ) {}

  static async make(): Promise<Authority> {
    const command = `req -config config -x509 ${VALID} -extensions authority -subj /CN=test-servers ${NEW_KEY} -keyout ca.key -out ca`;
    const [key, certificate] = await openssl({ config: CONFIG }, [command], ['ca.key', 'ca']);
    return new Authority(key!, certificate!);
  }

  /** Makes a certificate for a server or a client. */
  async issue({
    names = 'IP:127.0.0.1, DNS:localhost',
    expired = false,
  }: CertificateOptions = {}): Promise<Certificate> {
    const owner = `[owner]\nsubjectAltName = ${names}\nextendedKeyUsage = serverAuth, clientAuth\n`;
    const [key, certificate] = await openssl(
      { config: CONFIG + owner, ca: this.certificate, 'ca.key': this.key },
      [
        `req -config config -subj /CN=test-servers-owner ${NEW_KEY} -keyout key -out request`,
        `x509 -req -in request -CA ca -CAkey ca.key -set_serial ${++serial} ${expired ? EXPIRED : VALID} -extfile config -extensions owner -out certificate`,
      ],
      ['key', 'certificate'],
    );
    return { ca: this.certificate, key: key!, certificate: certificate! };
  }
}

/** Makes a certificate for 127.0.0.1 and localhost, by an authority that made only this one. */
export async function makeCertificate(): Promise<Certificate> {
  return (await Authority.make()).issue();
}

/** Runs openssl in a folder with these files, and reads the files that came of it. */
async function openssl(
  files: Readonly<Record<string, string>>,
  commands: readonly string[],
  results: readonly string[],
): Promise<string[]> {
  const program = await ensurePackaged('openssl');
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  try {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    for (const command of commands) await run(program, command.split(' '), { cwd: folder });
    return await Promise.all(results.map((name) => readFile(join(folder, name), 'utf8')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
