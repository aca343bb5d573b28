import { changesAt, type LimitChange } from './limit-changes.js';
import type { Member, Presence, PresentProcess } from './presence.js';

/** The presence where there is no other process, or of the simulated processes of a test, which are one process. */
export class LocalPresence implements Presence {
  /** In the order in which they joined: the first is the leader. */
  private readonly members = new Set<Member>();
  private readonly drained = new Set<string>();
  private readonly limits = new Map<string, LimitChange>();

  /** @param now Ledger time in ms. */
  constructor(private readonly now: () => number) {}

  join(member: Member): () => Promise<void> {
    this.members.add(member);
    this.notify();
    return () => {
      if (this.members.delete(member)) this.notify();
      return Promise.resolve();
    };
  }

  all(): Promise<PresentProcess[]> {
    const at = this.now();
    const [elected] = this.members;
    const all = Array.from(this.members, (member) => ({
      record: member.describe(),
      at,
      elected: member === elected,
    }));
    return Promise.resolve(all);
  }

  /** All members share one process. */
  gone(): Promise<PresentProcess[]> {
    return Promise.resolve([]);
  }

  markDrained(endpoint: string, drained: boolean): Promise<boolean> {
    const changes = this.drained.has(endpoint) !== drained;
    if (drained) this.drained.add(endpoint);
    else this.drained.delete(endpoint);
    if (changes) this.notify();
    return Promise.resolve(changes);
  }

  drainedNodes(): Promise<string[]> {
    return Promise.resolve([...this.drained]);
  }

  changeLimits(tube: string, change: LimitChange | undefined): Promise<LimitChange | undefined> {
    const before = changesAt(this.limits, this.now()).get(tube);
    if (change) this.limits.set(tube, change);
    else this.limits.delete(tube);
    this.notify();
    return Promise.resolve(before);
  }

  /** Nobody falls silent here, so nobody has to be asked again: an election lasts until its process leaves. */
  private notify(): void {
    const [elected] = this.members;
    const settings = Array.from(this.members, (member) => member.settings);
    for (const member of this.members) {
      member.learn({
        electedUntil: member === elected ? Infinity : 0,
        drained: [...this.drained],
        limits: new Map(this.limits),
        now: this.now(),
        otherSettings: Array.from(new Set(settings.filter((each) => each !== member.settings))),
      });
    }
  }
}
