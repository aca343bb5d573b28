/**
 * Tubes whose jobs only look whether there is something to do. A tube rests once it has looked since anything else
 * happened: its next looks would find the same, so the time need not stop for them.
 */
export class Polls {
  /** Runs of other tubes that go on. */
  otherRuns = 0;
  private readonly tubes = new Set<string>();
  /** Counts what happened: runs of other tubes that began or ended, and journeys. */
  private happened = 0;
  /** By tube: how much had happened at the last look. */
  private readonly looked = new Map<string, number>();

  /** By its name on the nodes. Idempotent. */
  add(tube: string): void {
    this.tubes.add(tube);
  }

  /** A journey begins: the test may have done anything before. */
  journey(): void {
    this.happened++;
  }

  /** A run has begun. */
  began(tube: string): void {
    if (this.tubes.has(tube)) {
      this.looked.set(tube, this.happened);
    } else {
      this.happened++;
      this.otherRuns++;
    }
  }

  /** A run has ended. */
  ended(tube: string): void {
    if (this.tubes.has(tube)) return;
    this.happened++;
    this.otherRuns--;
  }

  rests(tube: string): boolean {
    return this.looked.get(tube) === this.happened;
  }

  get anyRests(): boolean {
    for (const tube of this.looked.keys()) if (this.rests(tube)) return true;
    return false;
  }
}
