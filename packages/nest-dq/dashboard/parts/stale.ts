/** A failed reload of what was read before, and is still shown. */
export class Stale extends Error {
  constructor(
    readonly reason: Error,
    /** When it was read, by the server's clock in ms. */
    readonly asOf: number,
  ) {
    super(reason.message, { cause: reason });
  }
}
