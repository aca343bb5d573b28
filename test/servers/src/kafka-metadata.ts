// One request to a broker, without a client: which brokers of its cluster are alive.
import { connect } from 'node:net';
import type { Address } from './wire.js';

const METADATA = 3;
/** The first version that tells the cluster's id. */
const VERSION = 2;
const SIZE = 4;

export interface KafkaMetadata {
  readonly clusterId: string | undefined;
  /** The node ids of the brokers that are alive. */
  readonly brokers: number[];
}

/** Asks a broker on a port without TLS and without users. Rejects if it does not answer within `limit` milliseconds. */
export function askMetadata({ host, port }: Address, limit: number): Promise<KafkaMetadata> {
  return new Promise((resolve, reject) => {
    let reply = Buffer.alloc(0);
    const socket = connect({ host, port }, () => socket.write(request()));
    const timer = setTimeout(() => socket.destroy(new Error(`no reply in ${limit} ms`)), limit);
    socket.on('data', (bytes) => {
      reply = Buffer.concat([reply, bytes]);
      if (reply.length < SIZE || reply.length < SIZE + reply.readInt32BE(0)) return;
      resolve(readReply(reply));
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('end', () => socket.destroy(new Error('the broker closed the connection before it replied')));
    socket.on('close', () => clearTimeout(timer));
  });
}

/** Size, API, version, a number that comes back, no name of the client, no topics. */
function request(): Buffer {
  const bytes = Buffer.alloc(18);
  bytes.writeInt32BE(bytes.length - SIZE, 0);
  bytes.writeInt16BE(METADATA, 4);
  bytes.writeInt16BE(VERSION, 6);
  bytes.writeInt32BE(0, 8);
  bytes.writeInt16BE(-1, 12);
  bytes.writeInt32BE(0, 14);
  return bytes;
}

function readReply(bytes: Buffer): KafkaMetadata {
  let at = 2 * SIZE; // behind the size, and the number that came back
  const int32 = () => {
    at += 4;
    return bytes.readInt32BE(at - 4);
  };
  const string = () => {
    const length = bytes.readInt16BE(at);
    const start = at + 2;
    at = start + Math.max(length, 0);
    return length < 0 ? undefined : bytes.toString('utf8', start, at);
  };
  const brokers: number[] = [];
  for (let left = int32(); left > 0; left--) {
    brokers.push(int32());
    string(); // its host
    int32(); // its port
    string(); // its rack
  }
  return { brokers, clusterId: string() };
}
