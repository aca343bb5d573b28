/** Address of a node. */
export interface Endpoint {
  /** As the user wrote it; logs, metrics and locations name the node by it. */
  readonly text: string;
  readonly address: { readonly host: string; readonly port: number } | { readonly path: string };
  /** Whether it is only reached over TLS. */
  readonly tls: boolean;
}

export const EXPECTED_ENDPOINT =
  "'host:port' with a port from 1 to 65535, such as '10.0.0.1:11300' or '[::1]:11300', 'tls://host:port', or 'unix:/path' with letters, digits and . _ - @ + ~ /";

const ENDPOINT =
  /^(?<tls>tls:\/\/)?(?:\[(?<v6>[0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|(?<name>[\w.-]+)):(?<port>\d{1,5})$/;
/** Other characters have a meaning in locations and lists. */
const SOCKET = /^unix:(?<path>\/[\w./@+~-]+)$/;
/** Some systems allow a few more. */
const LONGEST_PATH_BYTES = 103;

/** Parses `host:port` (an IPv6 address in brackets), `tls://host:port` or `unix:/path`. Returns undefined for anything else. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const { path } = SOCKET.exec(text)?.groups ?? {};
  if (path !== undefined)
    return path.length > LONGEST_PATH_BYTES ? undefined : { text, address: { path }, tls: false };
  const { tls, v6, name, port } = ENDPOINT.exec(text)?.groups ?? {};
  const host = v6 ?? name;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { text, address: { host, port: Number(port) }, tls: tls !== undefined };
}
