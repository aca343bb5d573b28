import type { StoredTube } from '../api/tube.js';
/** A server whose restart would bring a deleted copy back. */
export interface Witness {
  readonly instance: string | undefined;
  /** It deletes without noting it on disk. */
  readonly logStopped: boolean;
}

export interface DeletedCopy {
  readonly index: number;
  readonly node: Witness;
  /** The instance that answered DELETED. */
  readonly instance: string;
}

/** The copies of one job that one process deleted. */
export interface Deletion {
  readonly tube: StoredTube;
  readonly id: string;
  readonly generation: number;
  readonly copies: readonly DeletedCopy[];
  /** Their header knows of a put of unknown outcome. */
  readonly unknown: boolean;
}

/** Jobs whose copies were deleted alike: a process that drains a backlog holds hundreds of thousands. */
export interface DeletionGroup extends Pick<Deletion, 'tube' | 'copies' | 'unknown'> {
  readonly ids: readonly string[];
  /** In the order of the ids. */
  readonly generations: readonly number[];
  /** Of the last of them, by the clock. */
  readonly certainAt: number;
}

/**
 * Copies of one job that were deleted. Jobs whose copies were deleted alike share one: a process that deletes thousands
 * a second holds what it deleted for a minute, and there are few ways in which it was.
 */
export class DeletedCopies {
  private readonly longer: DeletedCopies[] = [];

  constructor(readonly copies: readonly DeletedCopy[] = []) {}

  /** These and one more. */
  with(copy: DeletedCopy): DeletedCopies {
    for (const known of this.longer) {
      const last = known.copies[this.copies.length]!;
      if (last.index === copy.index && last.node === copy.node && last.instance === copy.instance)
        return known;
    }
    const longer = new DeletedCopies([...this.copies, copy]);
    this.longer.push(longer);
    return longer;
  }
}
