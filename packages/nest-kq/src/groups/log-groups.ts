import { topicName, type Topic } from '../api/topic.js';
import { checkOptions } from '../api/checks.js';
import type { LogAdmin } from '../driver/driver.js';
import { knownEnds, placesOf } from '../driver/known-ends.js';
import type { PartitionOffset } from '../driver/message.js';
import { KqError, factOf, wrongValue } from '../errors.js';
import { behind } from '../health/lag.js';
import {
  KqGroups,
  type KqGroupTopic,
  type KqGroupView,
  type KqPauseChoice,
  type KqSeekTarget,
} from './kq-groups.js';
import type { OwnGroup } from './own-group.js';
import { offsetsOf } from './seek-target.js';

/** The groups of one cluster of brokers. */
export class LogGroups extends KqGroups {
  /** Seeks run one at a time, since each leaves the group. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly admin: LogAdmin,
    /** Groups of this process; a group may occur twice, because of lazily loaded modules. */
    private readonly own: () => readonly OwnGroup[],
    private readonly log: (line: string) => void,
  ) {
    super();
  }

  override topics() {
    return this.admin.topics();
  }

  override async group(group: string, topics?: readonly (string | Topic)[]): Promise<KqGroupView> {
    checkGroup(group);
    const names = topics?.map(topicName) ?? (await this.admin.topics()).map(({ topic }) => topic);
    const found: KqGroupTopic[] = [];
    for (const topic of names) {
      const view = await this.topicOf(group, topic);
      if (view) found.push(view);
    }
    return { group, lag: sum(found), topics: found };
  }

  override pause(choice?: KqPauseChoice): void {
    const { groups, topic } = this.chosen(choice);
    for (const each of groups) {
      each.pause(topic);
      this.log(`${topic ?? 'all'} of the group ${each.group} is paused in this process`);
    }
  }

  override resume(choice?: KqPauseChoice): void {
    const { groups, topic } = this.chosen(choice);
    for (const each of groups) {
      each.resume(topic);
      this.log(`${topic ?? 'all'} of the group ${each.group} is resumed in this process`);
    }
  }

  override seek(group: string, topic: string | Topic, target: { to: KqSeekTarget }) {
    const seeking = this.last.then(() => this.seekNow(group, topicName(topic), target));
    this.last = seeking.catch(() => undefined); // its caller gets the error
    return seeking;
  }

  private async seekNow(group: string, topic: string, target: unknown): Promise<Record<number, string>> {
    checkGroup(group);
    const { offsets, leaderless } = await offsetsOf(this.admin, topic, target);
    let set = () => this.set(group, topic, offsets);
    for (const each of this.own()) {
      if (each.group !== group) continue;
      const inner = set;
      set = () => each.outside(inner);
    }
    await set();
    const told = offsets.map(({ partition, offset }) => [partition, String(offset)] as const);
    const places = told.map(([partition, offset]) => `${topic}/${partition} from ${offset}`);
    this.log(`the group ${group} continues with ${places.join(', ')}`);
    if (leaderless.length > 0)
      this.log(
        `the group ${group} keeps its position in ${placesOf(topic, leaderless)}: no leader knows the end`,
      );
    return Object.fromEntries(told);
  }

  private async set(group: string, topic: string, offsets: readonly PartitionOffset[]): Promise<void> {
    try {
      await this.admin.setCommitted(group, topic, offsets);
    } catch (error) {
      if (!(error instanceof KqError) || error.code !== 'KQ_GROUP_BUSY') throw error;
      const advice =
        'nothing was set; stop the other processes of the group, or their consumers, and seek again';
      throw new KqError('KQ_GROUP_BUSY', `${factOf(error)}; ${advice}`, { cause: error });
    }
  }

  private async topicOf(group: string, topic: string): Promise<KqGroupTopic | undefined> {
    const committed = await this.admin.committed(group, topic);
    if (committed.every(({ offset }) => offset === undefined)) return undefined;
    const { ends, leaderless } = await knownEnds(this.admin, topic);
    const partitions = ends.map((each) => {
      const { partition, first, end } = each;
      const offset = committed.find((one) => one.partition === partition)?.offset;
      const lag = behind(offset, each) ?? 0;
      const place = { partition, first: String(first), end: String(end) };
      return { ...place, ...(offset !== undefined && { committed: String(offset) }), lag };
    });
    const lag = sum(partitions);
    return { topic, lag, partitions, ...(leaderless.length > 0 && { leaderless }) };
  }

  private chosen(choice: KqPauseChoice = {}): { groups: readonly OwnGroup[]; topic: string | undefined } {
    checkOptions('KQ_BAD_OPTION', 'a pause', choice, ['group', 'topic']);
    const topic = choice.topic === undefined ? undefined : topicName(choice.topic);
    const own = this.own();
    const ofGroup = own.filter(({ group }) => choice.group === undefined || group === choice.group);
    const groups = ofGroup.filter((each) => topic === undefined || each.handles(topic));
    if (groups.length > 0) return { groups, topic };
    if (ofGroup.length > 0) {
      const here = [...new Set(ofGroup.map(({ group }) => group))].join(', ');
      throw wrongValue('KQ_BAD_OPTION', '`topic`', topic, `a topic this process handles in ${here}`);
    }
    const known = [...new Set(own.map(({ group }) => group))].join(', ') || 'none';
    throw wrongValue('KQ_BAD_OPTION', '`group`', choice.group, `a group of this process: ${known}`);
  }
}

function checkGroup(group: unknown): void {
  if (typeof group !== 'string' || group === '')
    throw wrongValue('KQ_BAD_OPTION', 'the group', group, 'a non-empty string');
}

function sum(parts: readonly { readonly lag: number }[]): number {
  return parts.reduce((all, { lag }) => all + lag, 0);
}
