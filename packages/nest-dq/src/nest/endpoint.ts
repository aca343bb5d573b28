import { connect } from 'node:net';
import type { Dial } from '../cluster/cluster-node.js';

/** Where a beanstalkd listens. */
export interface Endpoint {
  /** As the user wrote it. */
  readonly text: string;
  readonly host: string;
  readonly port: number;
}

const ENDPOINT = /^(?:\[(?<v6>[0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|(?<name>[\w.-]+)):(?<port>\d{1,5})$/;

/** `host:port`, an IPv6 address in brackets; undefined when the text is neither. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const { v6, name, port } = ENDPOINT.exec(text)?.groups ?? {};
  const host = v6 ?? name;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { text, host, port: Number(port) };
}

export function dialTcp({ host, port }: Endpoint): Dial {
  return () => connect({ host, port, noDelay: true });
}
