// What nest-kq has for the dashboard. This package does not load nest-kq.

/** A cluster of Kafka. */
export interface KafkaCluster {
  /** Undefined: the one without a name. */
  readonly cluster: string | undefined;
  readonly letters: KafkaLetters;
}

/** Its dead letters. What it rejects with, as a `KqError`, viewers see. */
interface KafkaLetters {
  topics(): Promise<readonly string[]>;
  list(
    topic: string,
    options: { readonly filter: KafkaFilter; readonly limit?: number; readonly cursor?: string },
  ): Promise<{
    readonly letters: readonly KafkaLetterSummary[];
    readonly cursor?: string;
    /** Partitions whose letters are missing, as they have no leader. */
    readonly leaderless?: readonly number[];
  }>;
  get(topic: string, place: KafkaPlace): Promise<KafkaLetter | undefined>;
  /** Yields how far it has come, at least once, and can be ended there. */
  acting(
    how: 'replayed' | 'discarded',
    topic: string,
    which: KafkaPlace | KafkaFilter,
    options: KafkaActOptions,
  ): AsyncGenerator<KafkaLettersDone, void, undefined>;
}

/** Of a letter in its topic. */
export interface KafkaPlace {
  readonly partition: number;
  readonly offset: string;
}

export interface KafkaFilter {
  /** Where the messages were. */
  readonly topic?: string;
  readonly error?: string;
  readonly key?: string;
  readonly from?: Date;
  readonly to?: Date;
}

export interface KafkaActOptions {
  readonly dryRun?: boolean;
  readonly limit?: number;
  /** Only of a replay: who gets the message again. */
  readonly groups?: 'all' | 'failed';
}

/** A letter in a list. */
export interface KafkaLetterSummary extends KafkaPlace {
  /** Where the message was. */
  readonly origin: { readonly topic: string; readonly partition?: number; readonly offset?: string };
  readonly group?: string;
  readonly key: string | null;
  readonly diedAt: Date;
  readonly why?: string;
  readonly attempts?: number;
  readonly error: { readonly name: string; readonly message: string };
  readonly valueBytes: number;
}

export interface KafkaLetter extends KafkaLetterSummary {
  readonly error: { readonly name: string; readonly message: string; readonly stack: string };
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer | readonly Buffer[]>>;
  /** The message's own time, in milliseconds since 1970. */
  readonly timestamp?: number;
  /** It was replayed or discarded. */
  readonly resolved: boolean;
}

/** What became of letters; in a dry run, what would. */
export interface KafkaLettersDone {
  readonly count: number;
  readonly failed: number;
  readonly failures: readonly (KafkaPlace & { readonly error: Error })[];
  readonly examples: readonly KafkaLetterSummary[];
  /** Partitions that were left out, as they have no leader. */
  readonly leaderless?: readonly number[];
}
