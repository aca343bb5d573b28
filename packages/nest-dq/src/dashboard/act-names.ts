import type { ActName, BulkActs, SingleActs } from './wire.js';

const SINGLE: Readonly<Record<keyof SingleActs, true>> = {
  pause: true,
  resume: true,
  runNow: true,
  reschedule: true,
  revoke: true,
  revive: true,
  discard: true,
  drainNode: true,
  undrainNode: true,
  kafkaReplay: true,
  kafkaDiscard: true,
};
const BULK: Readonly<Record<keyof BulkActs, true>> = {
  revokeMany: true,
  rescheduleMany: true,
  reviveMany: true,
  discardMany: true,
  repair: true,
  kafkaReplayMany: true,
  kafkaDiscardMany: true,
};

const ALL: Readonly<Record<ActName, true>> = { ...SINGLE, ...BULK };

export const ACT_NAMES = Object.keys(ALL) as readonly ActName[];

export function isSingleAct(name: string): name is keyof SingleActs {
  return Object.hasOwn(SINGLE, name);
}

export function isBulkAct(name: string): name is keyof BulkActs {
  return Object.hasOwn(BULK, name);
}
