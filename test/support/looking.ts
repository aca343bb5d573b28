import { Injectable, type CanActivate, type NestInterceptor } from '@nestjs/common';
import type { ClsService, ClsStore } from 'nestjs-cls';

export interface TenantStore extends ClsStore {
  tenant?: string;
}

/** The tenant that each kind of user code saw, apart from none. A spec empties it. */
export const seen: string[] = [];
/** The ClsService of the application of the present test: see `useCls`. */
export let cls: ClsService<TenantStore>;

export function useCls(service: ClsService<TenantStore>): void {
  cls = service;
}

export function look(who: string): void {
  const tenant = cls.get('tenant');
  if (tenant !== undefined) seen.push(`${who} saw ${tenant}`);
}

@Injectable()
export class LookingGuard implements CanActivate {
  canActivate(): boolean {
    look('a guard');
    return true;
  }
}

@Injectable()
export class LookingInterceptor implements NestInterceptor {
  intercept: NestInterceptor['intercept'] = (_context, next) => {
    look('an interceptor');
    return next.handle();
  };
}
