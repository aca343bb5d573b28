import type { Carrier, Link } from 'test-servers';

/** Changes what a node says, in the order of its bytes. `text` in Latin-1. */
export type Lie = (text: string) => string;

/** On the wire between processes and a node: it passes on what the processes say, and something else than what the node says. */
export class Liar {
  /** @default the node's own words */
  lie: Lie = (text) => text;
  /** How often each lie changed something. */
  readonly told = new Map<Lie, number>();

  readonly carry = ({ client, server }: Link): Carrier => ({
    toServer: (bytes) => void server.write(bytes),
    toClient: (bytes) => void client.write(Buffer.from(this.changed(bytes.toString('latin1')), 'latin1')),
  });

  private changed(text: string): string {
    const { lie } = this;
    const changed = lie(text);
    if (changed !== text) this.told.set(lie, (this.told.get(lie) ?? 0) + 1);
    return changed;
  }
}

/** Bytes in one answer without an end. */
const FLOOD = 4 * 1_024 * 1_024;

export interface Foreign {
  /** A copy of a job that is not asked about, on the same node. */
  readonly id: string;
  /** The name another node gives itself. */
  readonly instance: string;
}

/** All lies by their names. */
export function liesWith({ id, instance }: Foreign): ReadonlyMap<string, Lie> {
  let last = '';
  return new Map<string, Lie>([
    ['other bodies', (text) => text.replace(/("id":")./g, '$1#').replace(/("due":)\d/g, '$11')],
    ['broken seals', (text) => text.replace(/(\n,"i":[^\n]*\n)[^]/g, '$1!')],
    ['unknown ids', (text) => text.replace(/^(RESERVED|FOUND) (\d+)/gm, '$1 1000$2')],
    ['the id of another copy', (text) => text.replace(/^(RESERVED) \d+/gm, `$1 ${id}`)],
    ['another number of what was stored', (text) => text.replace(/^INSERTED (\d+)/gm, 'INSERTED 1000$1')],
    ['the number of another copy', (text) => text.replace(/^INSERTED \d+/gm, `INSERTED ${id}`)],
    [
      'DELETED and NOT_FOUND for each other',
      (text) =>
        text.replace(/^(?:DELETED|NOT_FOUND)/gm, (word) => (word === 'DELETED' ? 'NOT_FOUND' : 'DELETED')),
    ],
    ['the name of another node', (text) => text.replace(/^id: \w+/gm, `id: ${instance}`)],
    ['a name that is no name', (text) => text.replace(/^id: \w+/gm, 'id: [[{"')],
    ['each answer twice', (text) => text + text],
    ['the answer before', (text) => ([text, last] = [last || text, text])[0]],
    ['a line without an end', (text) => text.replace(/\r\n/g, '') + 'x'.repeat(FLOOD)],
    ['a body without an end', (text) => `RESERVED 1 99999999999\r\n${text}${'x'.repeat(FLOOD)}`],
    ['the largest body', (text) => `RESERVED 1 1073741824\r\n${text}${'x'.repeat(FLOOD)}`],
    ['a list without an end', () => `OK 4294967295\r\n---\n${'- x\n'.repeat(FLOOD / 4)}`],
    ['negative and broken sizes', (text) => text.replace(/^(RESERVED|FOUND|OK) /gm, '$1 -1 1e9 ')],
    ['rubbish', (text) => Buffer.from(text, 'latin1').toString('base64')],
  ]);
}
