/** Messages as an application pushes them. */
import type { KqError } from '../errors.js';

/** What a push takes beside topic and value. */
export interface MessageOptions {
  /**
   * Messages of one key go to one partition, and are handled in their order. `key: undefined` is `KQ_BAD_MESSAGE`.
   * @default no key
   */
  key?: string | Uint8Array | null;
  /** By name, a value or a list of values; texts are stored as UTF-8. @default none */
  headers?: Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>>;
  /** @default by the key; without a key, one after the other */
  partition?: number;
  /** Milliseconds since 1970. @default when it is sent */
  timestamp?: number;
}

/** Where a message is stored. Plain data. */
export interface Pushed {
  readonly topic: string;
  readonly partition: number;
  /** Its place in the partition, in decimal digits: as a number it could be inexact, as a bigint JSON refuses it. */
  readonly offset: string;
}

/** The result of one message of many. */
export type PushResult =
  | { readonly pushed: Pushed; readonly error?: undefined }
  | { readonly pushed?: undefined; readonly error: KqError };
