/** Messages as an application pushes them. */
import type { Duration, When } from 'nest-handlers/time';
import type { KqError } from '../errors.js';

/** Options of a push, in addition to topic and value. */
export interface MessageOptions {
  /**
   * The key. Messages with the same key go to one partition and are handled in order. `key: undefined` is `KQ_BAD_MESSAGE`.
   * @default no key
   */
  key?: string | Uint8Array | null;
  /** Header values by name, one or a list each; strings are stored as UTF-8. @default none */
  headers?: Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>>;
  /** The partition. @default chosen by the key; without a key, round-robin */
  partition?: number;
  /** In ms since 1970. @default the time it is sent */
  timestamp?: number;
  /** See `LaterOptions`. */
  delay?: undefined;
  /** See `LaterOptions`. */
  at?: undefined;
}

/** Options of a delayed push: `delay` or `at`. */
export type LaterOptions = Omit<MessageOptions, 'delay' | 'at'> &
  (
    | {
        /** How long the message waits. */
        delay: Duration;
        at?: undefined;
      }
    | {
        /** When the message is pushed. */
        at: When;
        delay?: undefined;
      }
  );

/** The place where a message is stored. Plain data. */
export interface Pushed {
  /** Topic name. */
  readonly topic: string;
  /** Partition number, from 0. */
  readonly partition: number;
  /** Offset in the partition, in decimal digits: a number could lose precision, and JSON can't hold a bigint. */
  readonly offset: string;
}

/** A push that waits in nest-dq. Plain data; `ref` identifies the job, to revoke or reschedule it. */
export interface DelayedPush {
  /** Topic name. */
  readonly topic: string;
  /** The nest-dq job that will push the message. */
  readonly job: {
    readonly tube: string;
    readonly id: string;
    /** An opaque string, accepted wherever `DqProducer` takes a reference. */
    readonly ref: string;
    readonly dueAt: Date;
  };
}

/** The result of one message of a `pushMany`. */
export type PushResult =
  | { readonly pushed: Pushed; readonly error?: undefined }
  | { readonly pushed?: undefined; readonly error: KqError };
