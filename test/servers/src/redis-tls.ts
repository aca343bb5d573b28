// TLS of a Redis or a Sentinel: both have the same settings for it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Certificate } from './certificate.js';
import type { Address } from './wire.js';

/** In a folder of the server. */
export async function writeTlsFiles(folder: string, { ca, key, certificate }: Certificate): Promise<void> {
  await writeFile(join(folder, 'ca.pem'), ca);
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  await writeFile(join(folder, 'tls.pem'), certificate);
}

/** Its settings, with these files. It takes no connection without TLS. */
export function tlsSettings(
  folder: string,
  port: number,
  clientCertificates: boolean,
): Record<string, string> {
  return {
    port: '0',
    'tls-port': String(port),
    'tls-ca-cert-file': join(folder, 'ca.pem'),
    'tls-key-file': join(folder, 'tls.key'),
    'tls-cert-file': join(folder, 'tls.pem'),
    'tls-auth-clients': clientCertificates ? 'yes' : 'no',
    'tls-replication': 'yes',
  };
}

/** TLS options of a client. */
export function clientOf({ ca, key, certificate }: Certificate): Address['tls'] {
  return { ca, key, cert: certificate };
}
