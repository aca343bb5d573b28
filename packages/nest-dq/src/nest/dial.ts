import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Dial } from '../cluster/node-link.js';
import type { Endpoint } from './endpoint.js';
import type { NodeTls } from './tls-option.js';

/** Returns a function that connects to a node. `tls` is set if an endpoint of the options needs it. */
export function dialTo({ address, tls: needsTls }: Endpoint, tls: NodeTls | undefined): Dial {
  return needsTls && 'host' in address
    ? overTls(address, tls!)
    : () => connect({ ...address, noDelay: true });
}

/** Each connection resumes the previous TLS session, which saves both sides the costly part of the handshake. */
function overTls({ host, port }: { host: string; port: number }, { context, servername }: NodeTls): Dial {
  let session: Buffer | undefined;
  return () => {
    const socket = connectTls({
      host,
      port,
      // SNI doesn't allow an IP address. The certificate is then compared with the host.
      servername: servername ?? (isIP(host) === 0 ? host : undefined),
      secureContext: context,
      session,
      rejectUnauthorized: true, // even if NODE_TLS_REJECT_UNAUTHORIZED disables it
    });
    return socket.on('session', (latest) => void (session = latest));
  };
}
