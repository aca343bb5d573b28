import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Dial } from '../cluster/node-link.js';
import type { Endpoint } from './endpoint.js';
import type { NodeTls } from './tls-option.js';

/** How a node is reached. `tls` is there if an endpoint of the options needs it. */
export function dialTo({ address, tls: needsTls }: Endpoint, tls: NodeTls | undefined): Dial {
  return needsTls && 'host' in address
    ? overTls(address, tls!)
    : () => connect({ ...address, noDelay: true });
}

/** Each connection resumes the session of the one before it, which spares both sides the costly part of the handshake. */
function overTls({ host, port }: { host: string; port: number }, { context, servername }: NodeTls): Dial {
  let session: Buffer | undefined;
  return () => {
    const socket = connectTls({
      host,
      port,
      // An address has no place in the handshake. The certificate is compared with the host then.
      servername: servername ?? (isIP(host) === 0 ? host : undefined),
      secureContext: context,
      session,
      rejectUnauthorized: true, // also where NODE_TLS_REJECT_UNAUTHORIZED says otherwise
    });
    return socket.on('session', (latest) => void (session = latest));
  };
}
