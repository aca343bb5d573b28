import type { AsJson } from '../../src/api/tube.js';
import type { ExplanationCase, ExplanationDetails, UsedLimit } from '../../src/operate/explanation.js';
import { count, duration, time } from './say.js';
import { t } from './language.js';

/** The details of each case, as JSON has them. */
export type ReasonTexts = {
  readonly [Case in ExplanationCase]: (details: AsJson<ExplanationDetails[Case]>) => string;
};

/** Why a job has not run, in Chinese. The server tells it in English, and the page needs each of its cases here. */
export const zhReasons: ReasonTexts = {
  'ledger-away': () => t('job.ledgerAway'),
  dead({ death }) {
    if (!death) return '已成为死信，但死信已被清除。';
    const told = death.error === undefined ? '' : `：${death.error}`;
    return `于 ${at(death.at)} 成为死信：${t(`died.${death.why}`)}（已执行 ${count(death.attempt)} 次）${told}。`;
  },
  replaced: () => '已被同一 key 的新任务替换。',
  done({ startedAt, finished }) {
    if (!finished) return startedAt ? `已完成，最近一次执行始于 ${at(startedAt)}。` : '已完成。';
    const { endedAt, took, process, attempt } = finished;
    return `于 ${at(endedAt)} 在进程 ${process} 中完成：第 ${count(attempt)} 次尝试，耗时 ${duration(took)}。`;
  },
  revoked: () => '已撤销，不会再执行。',
  expired: () => '未在期限内开始执行，已过期，不会再执行。',
  running({ attempt, startedAt, runningFor, process }) {
    const since = startedAt ? `，始于 ${at(startedAt)}（${duration(runningFor)}）` : '';
    const where = process ? `，位于 ${process.host} 的进程 ${process.pid}` : '';
    return `正在执行${since}：第 ${count(attempt)} 次尝试${where}。`;
  },
  unknown: (details) =>
    details.dueAt ? `${dueSince(details)}，但其副本没有任何记录。` : '没有任何记录：任务不存在，或早已结束。',
  'nodes-away': ({ nodes }) => `可能存有其副本的节点恢复后才能执行：${nodes.join('、')}。`,
  'no-copy': ({ awaited }) =>
    awaited
      ? '所有节点上都已没有其副本，而账本仍在等待：任务已丢失。'
      : '所有节点上都已没有其副本，账本中也没有记录：任务早已结束，或已丢失。',
  'not-due': ({ dueAt, dueIn }) => `将于 ${at(dueAt)} 到期，还有 ${duration(dueIn)}。`,
  retrying: ({ dueAt, dueIn, attempt }) =>
    `已执行 ${count(attempt)} 次，等待下一次尝试：将于 ${at(dueAt)} 到期，还有 ${duration(dueIn)}。`,
  paused: ({ tube, since, until, ...due }) =>
    `${dueSince(due)}，但队列 ${tube} 自 ${at(since)} 起暂停，直到${until ? ` ${at(until)}` : '手动恢复'}。`,
  left: ({ leaseEndedAt }) => `执行进程自租约于 ${at(leaseEndedAt)} 到期后失联，副本返回后任务会再次执行。`,
  held: () => '正在等待被其替换的任务执行结束。',
  limited: ({ tube, limit, ...due }) => `${dueSince(due)}，但队列 ${tube} 被限流：${limitText(limit)}。`,
  'not-consumed': ({ tube, ...due }) => `${dueSince(due)}，但没有进程消费队列 ${tube}。`,
  'not-reserving': ({ tube, consumers, ...due }) =>
    `${dueSince(due)}，但消费队列 ${tube} 的 ${count(consumers)} 个进程未取任务，原因见其日志。`,
  'slots-full'({ tube, slots, oldestRun, ...due }) {
    const since = oldestRun
      ? `，最早的执行始于 ${at(oldestRun.startedAt)}（${duration(oldestRun.runningFor)}）`
      : '';
    return `${dueSince(due)}，但队列 ${tube} 的 ${count(slots)} 个处理槽全忙${since}。`;
  },
  taken: (due) => `${dueSince(due)}，已被进程持有，正在等待空闲槽位。`,
  queued({ others, ...due }) {
    const told = others
      ? `：该队列约有 ${count(others.due)} 个任务到期，${count(others.running)} 个正在执行`
      : '';
    return `${dueSince(due)}，正在等待进程取走${told}。`;
  },
  coming: ({ readyIn, ...due }) => `${dueSince(due)}，下一个副本将在 ${duration(readyIn)} 后返回。`,
  buried: (due) => `${dueSince(due)}，但其副本已埋藏，需手动唤醒才会恢复。`,
};

function limitText(limit: AsJson<UsedLimit>): string {
  const most = count(limit.most);
  switch (limit.kind) {
    case 'concurrency':
      return `同时最多 ${most} 个，现有 ${count(limit.running)} 个`;
    case 'perGroup':
      return `每组同时最多 ${most} 个，所在组“${limit.group}”现有 ${count(limit.running)} 个`;
    case 'rate':
      return `每 ${duration(limit.per)} 最多 ${most} 次，下一次可于 ${at(limit.nextAt)} 开始，还有 ${duration(limit.nextIn)}`;
  }
}

function dueSince({ dueAt, overdueFor }: { readonly dueAt?: string; readonly overdueFor?: number }): string {
  return dueAt === undefined ? '已到期' : `已于 ${at(dueAt)} 到期（逾期 ${duration(overdueFor)}）`;
}

function at(iso: string): string {
  return time(Date.parse(iso));
}
