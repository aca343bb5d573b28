import { eventually } from 'test-servers';
import { Peer } from '../../support/peer.js';
import type { StartNode, WireNode } from '../nodes.js';

/** One of the two nodes that are compared, and its clients. */
export class Side {
  private readonly peers = new Map<number, Peer>();

  private constructor(
    private readonly node: WireNode,
    private readonly observer: Peer,
  ) {}

  static async open(start: StartNode, maxJobSize: number): Promise<Side> {
    const node = await start({ maxJobSize });
    return new Side(node, new Peer(await node.dial()));
  }

  /** Those who are connected. */
  get clients(): number[] {
    return [...this.peers.keys()];
  }

  /** The peer of that number, which connects when it is first asked for. */
  async peer(who: number): Promise<Peer> {
    const known = this.peers.get(who);
    if (known) return known;
    const peer = new Peer(await this.node.dial());
    this.peers.set(who, peer);
    await peer.says('list-tube-used\r\n', 'USING default\r\n'); // or else it might not have been accepted yet
    return peer;
  }

  /** To be called when the peer of that number leaves; resolves when the node has seen it. */
  async forget(who: number): Promise<void> {
    this.peers.delete(who);
    const line = `current-connections: ${this.peers.size + 1}`;
    await eventually(line, async () => (await this.ask('stats')).includes(`\n${line}\n`));
  }

  /** The text that a command is answered by. What clients sent before was read before, if it was answered. */
  ask(command: string): Promise<string> {
    return this.observer.ask(command);
  }

  /** All that commands are answered by. */
  async describe(commands: readonly string[]): Promise<string> {
    this.observer.send(commands.map((command) => `${command}\r\nlist-tube-used\r\n`).join(''));
    let described = '';
    for (let left = commands.length; left > 0;) {
      const line = await this.observer.takeLine();
      if (line === '') throw new Error('the node is gone');
      if (line === 'USING default\r\n') left--;
      described += line;
    }
    return described;
  }

  async close(): Promise<void> {
    for (const peer of this.peers.values()) peer.leave();
    this.observer.leave();
    await this.node.stop();
  }
}
