/** A deletion to come, and the notices before it. */
export interface Deletion {
  readonly at: Date;
  readonly notices: readonly Date[];
  /** How many of the notices are sent. */
  readonly noticesSent: number;
}

export interface Resource {
  readonly id: string;
  readonly name: string;
  /** Whom the notices go to: an email address. */
  readonly owner: string;
  readonly deletion?: Deletion;
}
