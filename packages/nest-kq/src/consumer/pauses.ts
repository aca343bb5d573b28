/** What of a group begins nothing in this process. It outlives assignments and members. */
export class Pauses {
  private all = false;
  private readonly topics = new Set<string>();

  /** @param topic Absent: all of the group, also topics that come later. */
  pause(topic?: string): void {
    if (topic === undefined) this.all = true;
    else this.topics.add(topic);
  }

  /** @param topic Absent: all of the group. One topic stays paused while all are. */
  resume(topic?: string): void {
    if (topic !== undefined) return void this.topics.delete(topic);
    this.all = false;
    this.topics.clear();
  }

  has(topic: string): boolean {
    return this.all || this.topics.has(topic);
  }

  /** True: all; undefined: nothing. */
  get paused(): true | readonly string[] | undefined {
    if (this.all) return true;
    return this.topics.size > 0 ? [...this.topics].sort() : undefined;
  }
}
