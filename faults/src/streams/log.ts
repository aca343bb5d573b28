// The outside log of an experiment with streams: the pushes with their answers, written by the producer, and what the handlers
// did, written by the handlers. Times are those of the machine's clock, in milliseconds.

/** Value of a message. Keys in turn push their numbers in order. */
export interface Numbered {
  /** Its number among all messages. */
  readonly message: number;
  readonly key: string;
  /** Its number among those of its key, from 0. */
  readonly number: number;
  /** Milliseconds of work in its handler. */
  readonly ms: number;
  /** Number of its runs in one process that fail. */
  readonly fails: number;
  /** Makes it large. */
  readonly padding?: string;
}

/** A push with its answer. */
export interface Push extends Pick<Numbered, 'message' | 'key' | 'number'> {
  readonly what: 'push';
  readonly askedAt: number;
  /** When the answer came. */
  readonly at: number;
  /** `unsure`: the push failed, and its error said that the message may be stored. */
  readonly answer: 'stored' | 'refused' | 'unsure';
  /** Where it is, if it was stored. */
  readonly partition?: number;
  readonly offset?: number;
  /** The code of the error, if it was not stored. */
  readonly code?: string;
}

/** A handler was called. */
export interface Start extends Pick<Numbered, 'message' | 'key' | 'number'> {
  readonly what: 'start';
  /** The name of the run, unique among all processes. */
  readonly run: string;
  readonly process: string;
  /** As the library gave them to the handler. */
  readonly partition: number;
  readonly offset: number;
  readonly attempt: number;
  readonly at: number;
}

/** A handler is about to return or to throw. */
export interface End {
  readonly what: 'end';
  readonly run: string;
  readonly how: 'done' | 'fail' | 'aborted';
  readonly at: number;
}

/** A process learned that it lost partitions while handlers ran. */
export interface Overlap {
  readonly what: 'overlap';
  readonly process: string;
  readonly runs: number;
  readonly at: number;
}

export type StreamLine = Push | Start | End | Overlap;
