// The work of a bare client on one node.
import { IN_FLIGHT } from '../in-flight.js';
import { PAYLOAD_BYTES } from '../payload.js';
import type { RawConnection } from './raw-connection.js';

const BODY = 'x'.repeat(PAYLOAD_BYTES);
/** Reserves in flight. */
const BATCH = 64;

/** Puts jobs, 256 in flight, with the delay in seconds; resolves with the last INSERTED. */
export function putJobs(connection: RawConnection, jobs: number, delay: number): Promise<void> {
  const command = `put 0 ${delay} 60 ${BODY.length}\r\n${BODY}\r\n`;
  return new Promise((resolve, reject) => {
    let begun = 0;
    let stored = 0;
    const begin = () => {
      begun++;
      connection.send(command, (line) => {
        if (!line.startsWith('INSERTED ')) reject(new Error(`a put was answered ${line}`));
        else if (++stored === jobs) resolve();
        else if (begun < jobs) begin();
      });
    };
    while (begun < Math.min(IN_FLIGHT, jobs)) begin();
  });
}

/** Reserves and deletes this number of ready jobs; resolves with the last DELETED. */
export function takeJobs(connection: RawConnection, jobs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let reserved = 0;
    let deleted = 0;
    const count = (line: string) => {
      if (line !== 'DELETED') reject(new Error(`a delete was answered ${line}`));
      else if (++deleted === jobs) resolve();
    };
    const reserve = () => {
      const asked = Math.min(BATCH, jobs - reserved);
      reserved += asked;
      let answered = 0;
      for (let job = 0; job < asked; job++) {
        connection.send('reserve-with-timeout 0\r\n', (line, body) => {
          if (body === undefined) reject(new Error(`a reserve was answered ${line}`));
          else connection.send(`delete ${line.split(' ', 2)[1]}\r\n`, count);
          if (++answered === asked && reserved < jobs) reserve();
        });
      }
    };
    reserve();
  });
}
