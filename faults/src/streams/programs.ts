// Arguments of the lab's programs, the producer and the consumers.
import type { DqOptions } from 'nest-dq';
import type { KqOptions } from 'nest-kq';

/** Arguments of the programs, in addition to the path of their log. */
export interface StreamArguments {
  readonly name: string;
  readonly options: KqOptions;
  /** Failures go through this nest-dq. @default none: they are tried again in place */
  readonly dq?: DqOptions;
  /** Its handler has no options for failures. @default false */
  readonly plain?: boolean;
  /** The folder of Confluent's client, by which it speaks. @default kafkajs */
  readonly client?: string;
  /** A topic that the consumer reads as well, and of which it logs nothing. @default none */
  readonly otherTopic?: string;
}

/** Sent to the producer once it is ready. */
export interface Order {
  readonly messages: number;
  readonly keys: number;
  /** Milliseconds over which it pushes them. */
  readonly over: number;
  /** Milliseconds that handlers take in the mean. */
  readonly work: number;
  /** Additional bytes of each message. @default 0 */
  readonly padding?: number;
}
