import type { Duplex } from 'node:stream';
import type { VirtualClock } from 'nest-handlers/testing';
import type { InProcessNode } from '../src/embedded/in-process-node.js';

/** One who talks to a node; `hears` gives all that has come since. */
export class Talker {
  hasEnded = false;
  private received: string[] = [];

  constructor(
    private readonly clock: VirtualClock,
    node: InProcessNode,
    readonly stream: Duplex = node.dial(),
  ) {
    stream.on('data', (chunk: Buffer) => this.received.push(chunk.toString('latin1')));
    stream.on('close', () => (this.hasEnded = true));
  }

  async says(bytes: string): Promise<string> {
    this.stream.write(bytes, 'latin1');
    return this.hears();
  }

  async hears(): Promise<string> {
    return (await this.hearsChunks()).join('');
  }

  async hearsChunks(): Promise<string[]> {
    await this.clock.advance(0);
    return this.received.splice(0);
  }
}
