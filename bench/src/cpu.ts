// CPU time of this process and of servers. Linux only: it reads /proc.
import { readFile } from 'node:fs/promises';

/** Milliseconds of CPU, user and system together. */
export interface CpuTime {
  readonly client: number;
  readonly servers: number;
}

/** Milliseconds. Linux gives the times of processes in hundredths of a second, whatever the tick of the kernel is. */
const TICK = 10;
/** Positions in /proc/PID/stat, counted after the name of the program. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

/** The CPU time used up to now. `pids`: the process ids of the servers. */
export async function cpuTime(pids: readonly number[]): Promise<CpuTime> {
  const { user, system } = process.cpuUsage();
  const servers = await Promise.all(pids.map(cpuTimeOf));
  return { client: (user + system) / 1000, servers: servers.reduce((sum, time) => sum + time, 0) };
}

export async function cpuSince(before: CpuTime, pids: readonly number[]): Promise<CpuTime> {
  const { client, servers } = await cpuTime(pids);
  return { client: client - before.client, servers: servers - before.servers };
}

async function cpuTimeOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * TICK;
}
