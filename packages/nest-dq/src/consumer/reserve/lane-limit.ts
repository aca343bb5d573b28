/** With those that all quiet tubes share, and the one for control, a process has less than 50 connections to a node. */
const MOST = 40;
/** So many may be there when a tube gets its second or third lane. */
const MOST_FOR_FURTHER = 24;

/**
 * How many lanes all busy tubes of a process have to one node, together. Few busy tubes get three lanes each. Where there
 * are more, later ones get one each, and then none: their copies come over the shared lanes.
 */
export class LaneLimit {
  private open = 0;

  /** A tube that has so many may open one more. */
  allows(has: number): boolean {
    return this.open < (has === 0 ? MOST : MOST_FOR_FURTHER);
  }

  opened(): void {
    this.open++;
  }

  closed(): void {
    this.open--;
  }
}
