/** A deletion to come, and the notices before it. Times are ISO dates. */
export interface Deletion {
  readonly at: string;
  readonly notices: readonly string[];
  /** How many of the notices are sent. */
  readonly noticesSent: number;
}

export interface Resource {
  readonly id: string;
  readonly name: string;
  /** Where the notices go: an email address. */
  readonly owner: string;
  readonly deletion?: Deletion;
}
