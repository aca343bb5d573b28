import type { Clock, Timer } from 'nest-handlers/time';
import { RECORD } from '../ledger/records/record.lua.js';
import { ScriptReply, type RawReply } from '../ledger/script.js';
import { EVENTS_KEPT, type EventFollower, type EventLog } from './event-log.js';

/** How often a follower reads. */
const READ_EVERY_MS = 100;
/** Pause after a failed read. */
const RETRY_AFTER_MS = 500;
/** Entries per reply. */
const TOGETHER = 250;
/** The entries of a log to which nothing was appended for this long are forgotten. */
const KEPT_MS = 3_600_000;

/**
 * KEYS: a hash of the entries, each under its number modulo EVENTS_KEPT, and a string with the epoch of the log and the number of
 * the last entry. The string never expires, so a new epoch means that Redis has lost its data.
 */
const LOG: string = `${RECORD}
local EVENTS, COUNT = KEYS[1], KEYS[2]
local epoch, last = string.match(call('GET', COUNT) or '', '^(%d+) (%d+)$')
last = tonumber(last or 0)
`;

export const EVENT_SCRIPTS = {
  /** Arguments: the entries. */
  'dq:tell': `${LOG}
local entries = { EVENTS }
for _, entry in ipairs(args) do
  last = last + 1
  entries[#entries + 1], entries[#entries + 2] = last % ${EVENTS_KEPT}, entry
end
call('HSET', unpack(entries))
call('PEXPIRE', EVENTS, ${KEPT_MS})
call('SET', COUNT, (epoch or string.format('%.0f', us)) .. ' ' .. string.format('%.0f', last))
return reply
`,

  /**
   * Arguments: the epoch and the number of the last entry that was read; an empty epoch means none. Reply: the epoch, the number
   * of the last entry in the reply, that of the last of all, how many were missed, and the entries.
   */
  'dq:hear': `${LOG}
epoch = epoch or '0'
local from = args[1] == '' and last or args[1] == epoch and args[2] or 0
local missed = max(0, last - from - ${EVENTS_KEPT})
from = from + missed
local to = math.min(last, from + ${TOGETHER})
push(epoch, to, last, missed)
if to > from then
  local places = {}
  for n = from + 1, to do places[#places + 1] = n % ${EVENTS_KEPT} end
  for _, entry in ipairs(call('HMGET', EVENTS, unpack(places))) do push(short(entry or '')) end
end
return reply
`,
} as const;

export type EventScript = keyof typeof EVENT_SCRIPTS;
type Call = (script: EventScript, json: string) => Promise<RawReply>;

/**
 * The events of all processes of one prefix, in two Redis keys. Followers poll: it needs neither a connection nor a permission of
 * its own, works with a Redis Cluster and Sentinel, continues after a reconnection where it was, and knows what it missed.
 */
export class RedisEventLog implements EventLog {
  constructor(
    readonly now: () => number,
    private readonly clock: Clock,
    private readonly call: Call,
  ) {}

  async append(entries: readonly string[]): Promise<void> {
    await this.call('dq:tell', JSON.stringify(entries));
  }

  follow(follower: EventFollower): () => void {
    const following = new Following(this.clock, this.call, follower);
    following.read();
    return () => following.stop();
  }
}

class Following {
  private epoch = '';
  private position = 0;
  private timer: Timer | undefined;
  private stopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly call: Call,
    private readonly follower: EventFollower,
  ) {}

  /** Reads now and then repeatedly, one call at a time. */
  readonly read = (): void => {
    this.readOnce().then(
      (more) => this.readIn(more ? 0 : READ_EVERY_MS),
      () => this.readIn(RETRY_AFTER_MS), // that Redis is away is reported elsewhere
    );
  };

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private readIn(ms: number): void {
    if (!this.stopped) this.timer = this.clock.after(ms, this.read);
  }

  /** Resolves with whether more entries follow. */
  private async readOnce(): Promise<boolean> {
    const reply = new ScriptReply(await this.call('dq:hear', JSON.stringify([this.epoch, this.position])));
    if (this.stopped) return false;
    const epoch = reply.text();
    const [to, last, missed] = [reply.number(), reply.number(), reply.number()];
    const entries: string[] = [];
    while (!reply.ended) entries.push(reply.text());
    const present = entries.filter((entry) => entry !== '');
    const isRenewed = this.epoch !== '' && this.epoch !== '0' && this.epoch !== epoch;
    this.epoch = epoch;
    this.position = to;
    if (isRenewed) this.follower.missed(0);
    const lacking = missed + entries.length - present.length;
    if (lacking > 0) this.follower.missed(lacking);
    if (present.length > 0) this.follower.appended(present);
    return to < last;
  }
}
