/** Messages as an application pushes them. */
import type { Duration, When } from 'nest-handlers/time';
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
  /** See `LaterOptions`. */
  delay?: undefined;
  /** See `LaterOptions`. */
  at?: undefined;
}

/** What a push takes that is to come later: `delay` or `at`. */
export type LaterOptions = Omit<MessageOptions, 'delay' | 'at'> &
  (
    | {
        /** How long it waits. */
        delay: Duration;
        at?: undefined;
      }
    | {
        /** When it is pushed. */
        at: When;
        delay?: undefined;
      }
  );

/** Where a message is stored. Plain data. */
export interface Pushed {
  readonly topic: string;
  readonly partition: number;
  /** Its place in the partition, in decimal digits: as a number it could be inexact, as a bigint JSON refuses it. */
  readonly offset: string;
}

/** A push that waits in nest-dq. Plain data; `ref` finds the job, to revoke or to move it. */
export interface DelayedPush {
  readonly topic: string;
  /** The job of nest-dq which will push the message. */
  readonly job: {
    readonly tube: string;
    readonly id: string;
    /** One opaque text, which `DqProducer` takes where it takes a reference. */
    readonly ref: string;
    readonly dueAt: Date;
  };
}

/** The result of one message of many. */
export type PushResult =
  | { readonly pushed: Pushed; readonly error?: undefined }
  | { readonly pushed?: undefined; readonly error: KqError };
