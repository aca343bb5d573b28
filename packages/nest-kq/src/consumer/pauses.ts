/** The topics of a group that are paused in this process. Outlives assignments and members. */
export class Pauses {
  private all = false;
  private readonly topics = new Set<string>();

  /** @param topic Absent for the whole group, including topics created later. */
  pause(topic?: string): void {
    if (topic === undefined) this.all = true;
    else this.topics.add(topic);
  }

  /** @param topic Absent for the whole group. While the whole group is paused, resuming a topic has no effect. */
  resume(topic?: string): void {
    if (topic !== undefined) return void this.topics.delete(topic);
    this.all = false;
    this.topics.clear();
  }

  has(topic: string): boolean {
    return this.all || this.topics.has(topic);
  }

  /** True if the whole group is paused, undefined if nothing is, otherwise the paused topics. */
  get paused(): true | readonly string[] | undefined {
    if (this.all) return true;
    return this.topics.size > 0 ? [...this.topics].sort() : undefined;
  }
}
