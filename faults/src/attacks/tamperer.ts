import type { Carrier, Link } from 'test-servers';

/** Alters what a node sends, in the order of its bytes. `text` is Latin-1. */
export type Alteration = (text: string) => string;

/** On the wire between processes and a node: passes on what the processes send, and alters what the node sends. */
export class Tamperer {
  /** @default no change */
  alter: Alteration = (text) => text;
  /** How often each alteration changed something. */
  readonly used = new Map<Alteration, number>();

  readonly carry = ({ client, server }: Link): Carrier => ({
    toServer: (bytes) => void server.write(bytes),
    toClient: (bytes) => void client.write(Buffer.from(this.changed(bytes.toString('latin1')), 'latin1')),
  });

  private changed(text: string): string {
    const { alter } = this;
    const changed = alter(text);
    if (changed !== text) this.used.set(alter, (this.used.get(alter) ?? 0) + 1);
    return changed;
  }
}

/** Bytes of one endless reply. */
const FLOOD = 4 * 1_024 * 1_024;

export interface Foreign {
  /** A copy of another job on the same node. */
  readonly id: string;
  /** The instance id of another node. */
  readonly instance: string;
}

/** All alterations by name. */
export function alterationsWith({ id, instance }: Foreign): ReadonlyMap<string, Alteration> {
  let last = '';
  return new Map<string, Alteration>([
    ['altered bodies', (text) => text.replace(/("id":")./g, '$1#').replace(/("due":)\d/g, '$11')],
    ['broken seals', (text) => text.replace(/(\n,"i":[^\n]*\n)[^]/g, '$1!')],
    ['unknown ids', (text) => text.replace(/^(RESERVED|FOUND) (\d+)/gm, '$1 1000$2')],
    ['the id of another copy in a reserve', (text) => text.replace(/^(RESERVED) \d+/gm, `$1 ${id}`)],
    ['a wrong id for a put', (text) => text.replace(/^INSERTED (\d+)/gm, 'INSERTED 1000$1')],
    ['the id of another copy for a put', (text) => text.replace(/^INSERTED \d+/gm, `INSERTED ${id}`)],
    [
      'DELETED and NOT_FOUND swapped',
      (text) =>
        text.replace(/^(?:DELETED|NOT_FOUND)/gm, (word) => (word === 'DELETED' ? 'NOT_FOUND' : 'DELETED')),
    ],
    ['the instance id of another node', (text) => text.replace(/^id: \w+/gm, `id: ${instance}`)],
    ['a malformed instance id', (text) => text.replace(/^id: \w+/gm, 'id: [[{"')],
    ['each reply twice', (text) => text + text],
    ['the previous reply', (text) => ([text, last] = [last || text, text])[0]],
    ['an endless line', (text) => text.replace(/\r\n/g, '') + 'x'.repeat(FLOOD)],
    ['an endless body', (text) => `RESERVED 1 99999999999\r\n${text}${'x'.repeat(FLOOD)}`],
    ['the largest body', (text) => `RESERVED 1 1073741824\r\n${text}${'x'.repeat(FLOOD)}`],
    ['an endless list', () => `OK 4294967295\r\n---\n${'- x\n'.repeat(FLOOD / 4)}`],
    ['negative and malformed sizes', (text) => text.replace(/^(RESERVED|FOUND|OK) /gm, '$1 -1 1e9 ')],
    ['garbage', (text) => Buffer.from(text, 'latin1').toString('base64')],
  ]);
}
