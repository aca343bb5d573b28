// The interface nest-kq provides for the dashboard. This package doesn't load nest-kq.

/** A Kafka cluster. */
export interface KafkaCluster {
  /** Name of the cluster; undefined for the unnamed one. */
  readonly cluster: string | undefined;
  readonly letters: KafkaLetters;
}

/** The cluster's dead letters. Viewers see its rejections, which are `KqError`s. */
interface KafkaLetters {
  topics(): Promise<readonly string[]>;
  list(
    topic: string,
    options: { readonly filter: KafkaFilter; readonly limit?: number; readonly cursor?: string },
  ): Promise<{
    readonly letters: readonly KafkaLetterSummary[];
    readonly cursor?: string;
    /** Partitions whose letters are missing, because they have no leader. */
    readonly leaderless?: readonly number[];
  }>;
  get(topic: string, place: KafkaPlace): Promise<KafkaLetter | undefined>;
  /** Yields its progress, at least once, and can be ended there. */
  acting(
    how: 'replayed' | 'discarded',
    topic: string,
    which: KafkaPlace | KafkaFilter,
    options: KafkaActOptions,
  ): AsyncGenerator<KafkaLettersDone, void, undefined>;
}

/** Place of a letter in its topic. */
export interface KafkaPlace {
  readonly partition: number;
  readonly offset: string;
}

export interface KafkaFilter {
  /** Original topic of the messages. */
  readonly topic?: string;
  readonly error?: string;
  readonly key?: string;
  readonly from?: Date;
  readonly to?: Date;
}

export interface KafkaActOptions {
  readonly dryRun?: boolean;
  readonly limit?: number;
  /** Only for a replay: who gets the message again. */
  readonly groups?: 'all' | 'failed';
}

/** A letter in a list. */
export interface KafkaLetterSummary extends KafkaPlace {
  /** Original place of the message. */
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
  /** The message's own timestamp, in milliseconds since 1970. */
  readonly timestamp?: number;
  /** Whether it was replayed or discarded. */
  readonly resolved: boolean;
}

/** The outcome of an act on letters; in a dry run, what it would be. */
export interface KafkaLettersDone {
  readonly count: number;
  readonly failed: number;
  readonly failures: readonly (KafkaPlace & { readonly error: Error })[];
  readonly examples: readonly KafkaLetterSummary[];
  /** Partitions left out because they have no leader. */
  readonly leaderless?: readonly number[];
}
