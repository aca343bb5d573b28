import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from 'test-servers';
import type { StartNode, WireNode } from './nodes.js';
import { Peer } from '../support/peer.js';
import type { Step, Transcript, Words } from './transcript.js';

/** Split bytes are sent one by one up to this number, then in chunks of this size. */
const SPLIT = 999;

/** Plays a transcript on a node of its own; rejects, with the line, where what is heard differs in one byte. */
export async function play(transcript: Transcript, start: StartNode, split = false): Promise<void> {
  const node = await start(transcript.maxJobSize === undefined ? {} : { maxJobSize: transcript.maxJobSize });
  const player = new Player(node, split);
  try {
    for (const step of transcript.steps(node.kind)) {
      await player.do(step).catch((error: Error) => {
        throw new Error(`line ${step.line}: ${error.message}`);
      });
    }
    await player.endAll();
  } finally {
    player.leaveAll();
    await node.stop();
  }
}

class Player {
  private readonly peers = new Map<string, Peer>();
  private readonly waiting = new Set<string>();
  /** Bytes of an OK reply that are still to be heard. */
  private left = NaN;

  constructor(
    private readonly node: WireNode,
    private readonly split: boolean,
  ) {}

  async do(step: Step): Promise<void> {
    switch (step.act) {
      case 'sends':
        return this.send(await this.peer(step.who), step.bytes);
      case 'hears':
        this.waiting.delete(step.who);
        return this.hear(await this.peer(step.who), step.words);
      case 'waits':
        this.waiting.add(step.who);
        return this.observe(`current-waiting: ${this.waiting.size}`);
      case 'half-closes':
        return (await this.peer(step.who)).halfClose();
      case 'leaves':
        await this.cutOff(step.who);
        return this.observe(`current-connections: ${this.peers.size + 1}`);
      case 'hears the end':
        return this.hearEnd(step.who, '');
      case 'drains':
        this.node.drain();
        return this.observe('draining: true');
      case 'passes':
        return sleep(step.seconds * 1000);
    }
  }

  /** Has everybody half-close, those who wait first, and nobody hears a word that was not expected. */
  async endAll(): Promise<void> {
    for (const who of this.waiting) {
      this.peers.get(who)!.halfClose();
      await this.hearEnd(who, 'TIMED_OUT\r\n');
    }
    for (const peer of this.peers.values()) peer.halfClose();
    for (const who of this.peers.keys()) await this.hearEnd(who, '');
  }

  leaveAll(): void {
    for (const peer of this.peers.values()) peer.leave();
  }

  private async peer(who: string): Promise<Peer> {
    const known = this.peers.get(who);
    if (known) return known;
    const peer = new Peer(await this.node.dial());
    this.peers.set(who, peer);
    return peer;
  }

  private async cutOff(who: string): Promise<void> {
    const peer = await this.peer(who);
    await peer.flush();
    peer.leave();
    this.peers.delete(who);
    this.waiting.delete(who);
  }

  private send(peer: Peer, bytes: string): void {
    if (!this.split) return peer.send(bytes);
    for (const byte of bytes.slice(0, SPLIT)) peer.send(byte);
    for (let at = SPLIT; at < bytes.length; at += SPLIT) peer.send(bytes.slice(at, at + SPLIT));
  }

  private async hear(peer: Peer, { line, isPattern }: Words): Promise<void> {
    const heard = await (isPattern ? peer.takeLine() : peer.take(line.length));
    this.left -= heard.length;
    if (!isPattern) {
      expectSame(heard, line);
      if (line === '\r\n') this.endText();
      return;
    }
    const match = regExpOf(line).exec(heard);
    if (!match) return expectSame(heard, line);
    if (match[1] !== undefined) this.left = Number(match[1]) + 2;
  }

  private endText(): void {
    const { left } = this;
    this.left = NaN;
    if (!Number.isNaN(left) && left !== 0) throw new Error(`the text has ${-left} bytes more than OK said`);
  }

  private async hearEnd(who: string, words: string): Promise<void> {
    const peer = await this.peer(who);
    expectSame(await peer.takeAll(), words, who);
    if (!peer.hasEnded) throw new Error(`${who} is still connected`);
    this.peers.delete(who);
    this.waiting.delete(who);
  }

  /** Resolves when the node's `stats` have that line. */
  private async observe(line: string): Promise<void> {
    const observer = new Peer(await this.node.dial());
    await eventually(line, async () => (await observer.ask('stats')).includes(`\n${line}\n`));
    observer.halfClose();
    await observer.takeAll();
  }
}

function regExpOf(line: string): RegExp {
  const literal = line.replaceAll(/[\\^$.+?()[\]{}|]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll('*', '[^\r\n]*').replaceAll('#', '(\\d+)')}$`);
}

function expectSame(heard: string, expected: string, who = ''): void {
  if (heard === expected) return;
  throw new Error(`${who && `${who} `}expected ${JSON.stringify(expected)}, heard ${JSON.stringify(heard)}`);
}
