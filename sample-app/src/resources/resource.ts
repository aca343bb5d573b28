/** A deletion to come: a series of jobs, the notices before it and the deletion itself. */
export interface Deletion {
  readonly id: string;
  readonly at: Date;
  readonly notices: readonly Date[];
  /** Find the jobs of the series: the `ids` of their receipts. */
  readonly jobs: readonly string[];
}

export interface Resource {
  readonly id: string;
  readonly name: string;
  /** Whom the notices go to: an email address. */
  readonly owner: string;
  readonly deletion?: Deletion;
}
