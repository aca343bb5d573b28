import type { Grant, History, Start } from './history.js';

export function tellStart(history: History, { process, id, payload, at }: Start): string {
  return `${process} started ${history.name(id)} (payload ${payload}) at ${history.when(at)}`;
}

export function tellGrant(history: History, { process, request, at }: Grant): string {
  const { id, generation } = request;
  return `${process} was given ${history.name(id)} ${history.generation(generation)} at ${history.when(at)}`;
}
