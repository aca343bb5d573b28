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
