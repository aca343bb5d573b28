import type { Duplex } from 'node:stream';
import { Peer } from './peer.js';

/**
 * A client of some tube of its own, and of somebody else who waits for its jobs, until `isOver`, and for three rounds at least.
 * Every byte is as if they were alone. `begins` is called once
 * both are there. Resolves with the number of rounds.
 */
export async function witness(
  dial: () => Promise<Duplex>,
  isOver: () => boolean,
  begins: () => void = () => undefined,
): Promise<number> {
  const [giver, taker] = [new Peer(await dial()), new Peer(await dial())];
  await giver.says('use witness\r\n', 'USING witness\r\n');
  await taker.says('watch witness\r\nignore default\r\n', 'WATCHING 2\r\nWATCHING 1\r\n');
  begins();
  let rounds = 0;
  for (; rounds < 3 || !isOver(); rounds++) {
    taker.send('reserve\r\nreserve-with-timeout 0\r\n');
    giver.send('put 5 0 60 4\r\nbody\r\n');
    const [, id] = /^INSERTED (\d+)\r\n$/.exec(await giver.takeLine())!;
    await taker.hears(`RESERVED ${id} 4\r\nbody\r\nTIMED_OUT\r\n`);
    await giver.says(`delete ${id}\r\npeek-ready\r\n`, 'NOT_FOUND\r\nNOT_FOUND\r\n');
    await taker.says(`release ${id} 5 100\r\ntouch ${id}\r\n`, 'RELEASED\r\nNOT_FOUND\r\n');
    await giver.says('peek-delayed\r\nkick 9\r\n', `FOUND ${id} 4\r\nbody\r\nKICKED 1\r\n`);
    await taker.says(`reserve\r\ndelete ${id}\r\n`, `RESERVED ${id} 4\r\nbody\r\nDELETED\r\n`);
  }
  giver.leave();
  taker.leave();
  return rounds;
}
