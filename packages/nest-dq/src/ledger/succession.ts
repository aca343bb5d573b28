import type { DeletionGroup, Witness } from './deleted-copies.js';
import type { Handover, LeftDeletions } from './handover.js';

/** Jobs of what is left as one, and how many of those go in a call. */
const LEFT_TOGETHER = 500;
const LEFT_IN_A_CALL = 50;

/** Leaves what a process deleted to those after it, and takes what those before it have left. */
export class Succession {
  constructor(
    private readonly handover: Handover,
    private readonly nodes: readonly Witness[],
  ) {}

  /** Whether a server is still the same is known of those that answer: until all do, nothing is taken. */
  get ready(): boolean {
    return this.nodes.every(({ instance }) => instance !== undefined);
  }

  /** `now` by the clock of the groups. */
  async leave(groups: readonly DeletionGroup[], now: number): Promise<void> {
    const left = groups.flatMap((group) => partsOf(group, group.certainAt - now));
    while (left.length > 0) await this.handover.leave(left.splice(0, LEFT_IN_A_CALL));
  }

  /** Some that a minute has made certain, of servers that are the same; none when there are no more. */
  async take(): Promise<Omit<DeletionGroup, 'certainAt'>[]> {
    const left = await this.handover.take();
    return left.map(({ tube, ids, generations, unknown, copies }) => {
      const known = copies.flatMap(({ index, instance }) => {
        const node = this.nodes.find((each) => each.instance === instance);
        return node ? [{ index, node, instance }] : [];
      });
      return { tube, ids, generations, unknown, copies: known };
    });
  }
}

function partsOf(
  { tube, copies, unknown, ids, generations }: DeletionGroup,
  certainIn: number,
): LeftDeletions[] {
  const parts: LeftDeletions[] = [];
  const places = copies.map(({ index, instance }) => ({ index, instance }));
  for (let from = 0; from < ids.length; from += LEFT_TOGETHER) {
    const to = from + LEFT_TOGETHER;
    parts.push({
      tube,
      ids: ids.slice(from, to),
      generations: generations.slice(from, to),
      copies: places,
      unknown,
      certainIn,
    });
  }
  return parts;
}
