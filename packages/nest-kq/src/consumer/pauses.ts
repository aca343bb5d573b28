/** Paused parts of a group in this process. Outlives assignments and members. */
export class Pauses {
  private all = false;
  private readonly topics = new Set<string>();

  /** @param topic Absent for the whole group, including topics created later. */
  pause(topic?: string): void {
    if (topic === undefined) this.all = true;
    else this.topics.add(topic);
  }

  /** @param topic Absent for the whole group. A topic stays paused while the group is. */
  resume(topic?: string): void {
    if (topic !== undefined) return void this.topics.delete(topic);
    this.all = false;
    this.topics.clear();
  }

  has(topic: string): boolean {
    return this.all || this.topics.has(topic);
  }

  /** True for all; undefined for nothing. */
  get paused(): true | readonly string[] | undefined {
    if (this.all) return true;
    return this.topics.size > 0 ? [...this.topics].sort() : undefined;
  }
}
