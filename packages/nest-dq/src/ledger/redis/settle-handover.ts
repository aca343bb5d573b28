import type { Handover, LeftDeletions } from '../handover.js';
import type { RedisMaster } from './master.js';
import { ScriptReply } from './script-wire.js';

/** The handover of all processes of one prefix, in one key of Redis. */
export class RedisHandover implements Handover {
  constructor(
    private readonly master: RedisMaster,
    private readonly key: string,
  ) {}

  async leave(left: readonly LeftDeletions[]): Promise<void> {
    const values = left.flatMap((each) => [Math.ceil(each.certainIn), JSON.stringify(each)]);
    await this.master.call('dqLeave', [this.key], JSON.stringify(values));
  }

  async take(): Promise<LeftDeletions[]> {
    const reply = new ScriptReply(await this.master.call('dqTake', [this.key], '[]'));
    const left: LeftDeletions[] = [];
    while (!reply.ended) left.push(JSON.parse(reply.text()) as LeftDeletions);
    return left;
  }
}
