import { eventually } from 'test-servers';
import { startEmbedded, startReal } from '../nodes.js';
import { MAX_JOB_SIZE, type Act, type Command } from './acts.js';
import { Side } from './side.js';

/** Has clients do the same to beanstalkd and to an embedded node. Tells where the two differ, if they do. */
export async function compareActs(acts: readonly Act[]): Promise<string | undefined> {
  return onBoth(async (real, embedded) => {
    const comparison = new Comparison(real, embedded);
    for (const act of acts) {
      const difference = await comparison.do(act);
      if (difference !== undefined) return difference;
    }
    return undefined;
  });
}

/** Gives two fresh nodes, and takes them away again. */
export async function onBoth<T>(task: (real: Side, embedded: Side) => Promise<T>): Promise<T> {
  const [real, embedded] = await Promise.all([
    Side.open(startReal, MAX_JOB_SIZE),
    Side.open(startEmbedded, MAX_JOB_SIZE),
  ]);
  try {
    return await task(real, embedded);
  } finally {
    await Promise.all([real.close(), embedded.close()]);
  }
}

class Comparison {
  /** Commands of each client that were not answered yet: the first is a reserve that waits. */
  private readonly unanswered = new Map<number, number>();
  private readonly watched = new Map<number, Set<string>>();

  constructor(
    private readonly real: Side,
    private readonly embedded: Side,
  ) {}

  async do(act: Act): Promise<string | undefined> {
    if ('ends' in act) return this.end(act.who, act.ends);
    if (this.isWaiting(act.who)) return undefined;
    const commands = this.allowed(act.who, act.commands);
    if (commands.length === 0) return undefined;
    const bytes = commands.map((command) => command.bytes).join('');
    for (const side of [this.real, this.embedded]) (await side.peer(act.who)).send(bytes);
    this.unanswered.set(act.who, commands.length);
    return this.difference(`${act.who} sends ${JSON.stringify(bytes)}`);
  }

  private async end(who: number, how: 'leaves' | 'half-closes'): Promise<string | undefined> {
    if (!this.real.clients.includes(who)) return undefined;
    const last: string[] = [];
    for (const side of [this.real, this.embedded]) {
      const peer = await side.peer(who);
      if (how === 'leaves') {
        await peer.flush();
        peer.leave();
      } else {
        peer.halfClose();
        last.push(await peer.takeAll());
      }
      await side.forget(who);
    }
    this.unanswered.delete(who);
    this.watched.delete(who);
    const found =
      last[0] === last[1] ? undefined : differenceOf(`${who} gets at its end`, last[0]!, last[1]!);
    return found ?? this.difference(`${who} ${how}`);
  }

  /** Tells what clients heard, and the counts of the nodes, where they are not the same. */
  private async difference(after: string): Promise<string | undefined> {
    await this.embedded.ask('stats'); // after it all was done, after the next one all waits were answered
    const embedded = await this.embedded.ask('stats');
    for (const who of this.embedded.clients) {
      const heard = (await this.embedded.peer(who)).takeReceived();
      const real = await (await this.real.peer(who)).take(heard.length);
      if (!isSame(real, heard)) return differenceOf(`after ${after}, ${who} hears`, real, heard);
      this.unanswered.set(who, (this.unanswered.get(who) ?? 0) - countReplies(heard));
    }
    await this.realHasRead(embedded);
    const real = await this.real.ask('stats');
    if (!isSame(real, embedded)) return differenceOf(`after ${after}, stats are`, real, embedded);
    for (const who of this.real.clients) {
      const more = (await this.real.peer(who)).takeReceived();
      if (more !== '') return differenceOf(`after ${after}, ${who} also hears`, more, '');
    }
    return undefined;
  }

  /** A reserve that waits has no reply. On a busy machine, beanstalkd may read another client's `stats` before it. */
  private async realHasRead(embeddedStats: string): Promise<void> {
    const [count] = /^cmd-reserve: .*$/m.exec(embeddedStats)!;
    await eventually(count, async () => (await this.real.ask('stats')).includes(`\n${count}\n`));
  }

  /**
   * Never do two wait for one tube: beanstalkd does not serve them in the order in which they came. So a reserve that
   * could make it two is left out.
   */
  private allowed(who: number, commands: readonly Command[]): readonly Command[] {
    const watched = this.watched.get(who) ?? new Set(['default']);
    this.watched.set(who, watched);
    for (const { watches, ignores } of commands) {
      if (watches !== undefined) watched.add(watches);
      if (ignores !== undefined && watched.size > 1) watched.delete(ignores);
    }
    if (commands.at(-1)?.waits !== true) return commands;
    const others = this.embedded.clients.filter((other) => other !== who && this.isWaiting(other));
    const isRival = others.some((other) => [...this.watched.get(other)!].some((tube) => watched.has(tube)));
    return isRival ? commands.slice(0, -1) : commands;
  }

  private isWaiting(who: number): boolean {
    return (this.unanswered.get(who) ?? 0) > 0;
  }
}

/** For a person: where two texts begin to differ. */
export function differenceOf(what: string, real: string, embedded: string): string {
  const [plainReal, plainEmbedded] = [plain(real), plain(embedded)];
  let at = 0;
  while (at < plainReal.length && plainReal[at] === plainEmbedded[at]) at++;
  const show = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 60), at + 200));
  return `${what}\nfrom beanstalkd:        …${show(plainReal)}\nfrom the embedded node: …${show(plainEmbedded)}`;
}

const OWN =
  /^(OK|(?:pid|rusage-.time|uptime|binlog-max-size|cmd-stats|total-connections):|id:(?= \w{16}$)) \S+$/gm;
const TIMES = /(?<=^(?:age|time-left|pause-time-left): )\d+$/gm;

/** The same words, but for what is a process's own; a time may be another by some seconds, if the machine is slow. */
export function isSame(one: string, other: string): boolean {
  const times = [one, other].map((text) => [...text.matchAll(TIMES)].map(Number));
  return plain(one) === plain(other) && times[0]!.every((time, at) => Math.abs(time - times[1]![at]!) <= 5);
}

function plain(text: string): string {
  return text.replaceAll(OWN, '$1 -').replaceAll(TIMES, '-');
}

function countReplies(text: string): number {
  let [replies, at] = [0, 0];
  while (at < text.length) {
    const end = text.indexOf('\r\n', at) + 2;
    const size = /^(?:OK|RESERVED \d+|FOUND \d+) (\d+)\r\n$/.exec(text.slice(at, end))?.[1];
    at = size === undefined ? end : end + Number(size) + 2;
    replies++;
  }
  return replies;
}
