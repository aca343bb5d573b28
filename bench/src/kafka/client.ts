// One interface to three Kafka libraries, each used as its own users would.
import type { Message } from './messages.js';

/** Called once for each message. */
export type Handle = (message: Message) => unknown;

/** A library, connected to a broker. */
export interface StreamClient {
  /** Resolves when the message is stored on all replicas in sync. */
  push(topic: string, message: Message): Promise<unknown>;
  /** A new group that begins at the first message. Resolves, when it is in the group, with what ends it. */
  consume(topic: string, handle: Handle): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface StreamLibrary {
  /** `endpoint`: `host:port` of the broker. */
  connect(endpoint: string): Promise<StreamClient>;
}

let groups = 0;

/** A name that no group had before. */
export function newGroup(): string {
  return `bench-${process.pid}-${++groups}`;
}
