/* The protocol between device and host, small enough to look at every interleaving.
 *
 * Modelled: claims on lock words (a bit a lane, a word a row), publication, the doorbell ring with
 * laps, room and holes, the poller with its rescan, acceptance, one worker, blocking, detached and
 * wave-wide calls, doorbells that are lost. Each store to a shared word is a step of its own, in the
 * order of the code; stores of one side reach the other at once (the simulator reorders them).
 *
 * Not modelled: several rings and top halves, split bundles, take-over, shutdown, cancel, the arena;
 * a retry is a wait until it can succeed, so that what hangs is a deadlock here.
 *
 *   ROWS     of two slots each: 1 or 2               CALLS   that the first of two waves makes
 *   RING     entries of the ring                     LOSES   doorbells that may be lost
 *   RESCAN   0: no rescan for lost doorbells         BROKEN  a planted mistake, see below
 *
 * Checked by protocol_model.sh: assertions, and that every run ends with all answered and all free.
 */

#ifndef ROWS
#define ROWS 1
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef RING
#define RING 4
#endif
#ifndef LOSES
#define LOSES 1
#endif
#ifndef RESCAN
#define RESCAN 1
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define STATE_BEFORE_ARGUMENT 1
#define HEAD_BEFORE_LANES 2
#define UNLOCK_BEFORE_FREE 3
#define CLAIM_IGNORES_STATE 4
#define ACCEPT_IGNORES_STATE 5

#define WAVES 2
#define LANES 2
#define SLOTS 4 /* ROWS x LANES of them are in use. */
/* The second wave makes one call: two calls of each wave take hours and show nothing new. */
#define CALLS_OF(wave) (wave == 0 -> CALLS : 1)
#define IDS 9   /* Requests are named from 1: WAVES x CALLS x LANES. */
#define BOTH 3

#define free 0
#define populating 1
#define ready 2
#define processing 3
#define finished 4

#define slot_of(row, lane) ((row) * LANES + (lane))
#define has(lanes, lane) ((((lanes) >> (lane)) & 1) == 1)
#define lap_of(ticket) ((ticket) / RING + 1)
#define claimable(row, lanes)                                                     \
  ((lock[row] & (lanes)) == 0 && (!has(lanes, 0) || state[slot_of(row, 0)] == free) && \
   (!has(lanes, 1) || state[slot_of(row, 1)] == free))

#define may_try(row, lanes) \
  (claimable(row, lanes) || (BROKEN == CLAIM_IGNORES_STATE && (lock[row] & (lanes)) == 0))

/* Host-visible. */
byte state[SLOTS];
byte argument[SLOTS];
byte result[SLOTS];
bit detached[SLOTS];
byte head_lap[RING];
byte head_row[RING];
byte entry_lanes[RING];
byte consumed;

/* The device's own. */
byte lock[WAVES];
byte tail;

/* The model's own records, which are no part of the protocol. */
byte holder[SLOTS]; /* Wave + 1 that may store to the slot; 0 = none. */
bit issued[IDS];
byte executed[IDS];
byte lost;
byte waves_done;

chan work = [SLOTS] of { byte, byte, bit }; /* slot, id, detached */

inline unlock(row, lanes) {
  atomic {
    lock[row] = lock[row] & (BOTH - (lanes));
    if
    :: has(lanes, 0) -> holder[slot_of(row, 0)] = 0
    :: else
    fi;
    if
    :: has(lanes, 1) -> holder[slot_of(row, 1)] = 0
    :: else
    fi
  }
}

/* Locks `lanes` of `row`. Gives the locks back if a slot is not free. */
inline try_claim(row, lanes, claimed) {
  claimed = false;
  atomic {
    if
    :: (lock[row] & (lanes)) == 0 ->
      lock[row] = lock[row] | (lanes);
      if
      :: has(lanes, 0) -> assert(holder[slot_of(row, 0)] == 0); holder[slot_of(row, 0)] = me + 1
      :: else
      fi;
      if
      :: has(lanes, 1) -> assert(holder[slot_of(row, 1)] == 0); holder[slot_of(row, 1)] = me + 1
      :: else
      fi;
      claimed = true
    :: else
    fi
  }
  if
  :: claimed && BROKEN != CLAIM_IGNORES_STATE && has(lanes, 0) && state[slot_of(row, 0)] != free ->
    unlock(row, lanes);
    claimed = false
  :: claimed && BROKEN != CLAIM_IGNORES_STATE && has(lanes, 1) && state[slot_of(row, 1)] != free ->
    unlock(row, lanes);
    claimed = false
  :: else
  fi
}

inline move_device(s, from, to) {
  atomic {
    assert(holder[s] == me + 1);
    assert(state[s] == from);
    state[s] = to
  }
}

inline publish(s, id, is_detached) {
  move_device(s, free, populating);
  if
  :: BROKEN == STATE_BEFORE_ARGUMENT ->
    move_device(s, populating, ready);
    argument[s] = id;
    detached[s] = is_detached
  :: else ->
    atomic {
      argument[s] = id;
      detached[s] = is_detached
    }
    atomic {
      issued[id] = 1;
      move_device(s, populating, ready)
    }
  fi
}

inline ring(row, lanes) {
  atomic {
    ticket = tail;
    tail++
  }
  ticket - consumed < RING; /* may_ring() */
  if
  :: BROKEN == HEAD_BEFORE_LANES ->
    atomic {
      head_row[ticket % RING] = row;
      head_lap[ticket % RING] = lap_of(ticket)
    }
    entry_lanes[ticket % RING] = lanes
  :: else ->
    entry_lanes[ticket % RING] = lanes;
    if
    :: atomic {
         head_row[ticket % RING] = row;
         head_lap[ticket % RING] = lap_of(ticket)
       }
    :: atomic { lost < LOSES -> lost++ }
    fi
  fi
}

inline finish(row, lane, id) {
  atomic {
    state[slot_of(row, lane)] == finished ->
    assert(result[slot_of(row, lane)] == id);
    result[slot_of(row, lane)] = 0
  }
  if
  :: BROKEN == UNLOCK_BEFORE_FREE ->
    unlock(row, 1 << (lane));
    move_device(slot_of(row, lane), finished, free)
  :: else ->
    move_device(slot_of(row, lane), finished, free);
    unlock(row, 1 << (lane))
  fi
}

proctype wave(byte me) {
  byte call = 0, row = 0, lanes = 0, ticket = 0, first = 0;
  bit claimed = 0, is_detached = 0;
  do
  :: call < CALLS_OF(me) ->
    atomic {
      first = 1 + (me * CALLS + call) * LANES;
      if
      :: lanes = 1
      :: lanes = 1; is_detached = 1
      :: lanes = BOTH
      fi
    }
    do
    :: claimed -> break
    :: else ->
      /* Any row, and any lane of it for a single lane. Waits where the code tries again. */
      atomic { if
      :: lanes != BOTH && may_try(0, 1) -> row = 0; lanes = 1
      :: lanes != BOTH && may_try(0, 2) -> row = 0; lanes = 2
      :: lanes == BOTH && may_try(0, BOTH) -> row = 0
      :: lanes != BOTH && ROWS > 1 && may_try(1, 1) -> row = 1; lanes = 1
      :: lanes != BOTH && ROWS > 1 && may_try(1, 2) -> row = 1; lanes = 2
      :: lanes == BOTH && ROWS > 1 && may_try(1, BOTH) -> row = 1
      fi }
      try_claim(row, lanes, claimed)
    od;
    if
    :: has(lanes, 0) -> publish(slot_of(row, 0), first, is_detached)
    :: else
    fi;
    if
    :: has(lanes, 1) -> publish(slot_of(row, 1), first + 1, is_detached)
    :: else
    fi;
    if
    :: is_detached -> unlock(row, lanes)
    :: else
    fi;
    ring(row, lanes);
    if
    :: !is_detached && has(lanes, 0) -> finish(row, 0, first)
    :: else
    fi;
    if
    :: !is_detached && has(lanes, 1) -> finish(row, 1, first + 1)
    :: else
    fi;
    atomic {
      first = 0;
      row = 0;
      lanes = 0;
      ticket = 0;
      claimed = 0;
      is_detached = 0;
      call++
    }
  :: else -> break
  od;
  waves_done++
}

/* The host may accept what is ready, once. Words that are dead from here on are cleared: fewer
 * states, and nobody reads them. */
inline accept(s) {
  if
  :: atomic {
       state[s] == ready || (BROKEN == ACCEPT_IGNORES_STATE && state[s] == processing) ->
       id = argument[s];
       is_detached = detached[s];
       assert(id != 0 && issued[id])
     }
    atomic {
      assert(state[s] == ready);
      state[s] = processing;
      argument[s] = 0;
      detached[s] = 0;
      work!s, id, is_detached;
      id = 0;
      is_detached = 0
    }
  :: else
  fi
}

inline accept_row(row, lanes) {
  if
  :: lanes == 1 -> accept(slot_of(row, 0))
  :: lanes == 2 -> accept(slot_of(row, 1))
  :: lanes == BOTH ->
    accept(slot_of(row, 0));
    accept(slot_of(row, 1))
  :: else
  fi
}

/* Always false for slots that do not exist: their state stays free. */
#define some_ready \
  (state[0] == ready || state[1] == ready || state[2] == ready || state[3] == ready)

proctype poller() {
  byte position = 0, row = 0, lanes = 0, id = 0, ahead = 0;
  bit is_detached = 0;
end:
  do
  :: head_lap[position % RING] == lap_of(position) ->
    atomic {
      row = head_row[position % RING];
      lanes = entry_lanes[position % RING];
      head_row[position % RING] = 0;
      position++
    }
    consumed = position;
    accept_row(row, lanes);
    row = 0;
    lanes = 0
  :: RESCAN && some_ready ->
    accept_row(0, BOTH);
    if
    :: ROWS > 1 -> accept_row(1, BOTH)
    :: else
    fi;
    /* skip_hole(): entries that change during the search can only shorten it. */
    atomic {
      ahead = 0;
      do
      :: ahead == RING -> break
      :: ahead < RING && head_lap[(position + ahead) % RING] == lap_of(position + ahead) ->
        position = position + ahead;
        break
      :: else -> ahead++
      od;
      ahead = 0
    }
  od
}

proctype worker() {
  byte s = 0, id = 0;
  bit is_detached = 0;
end:
  do
  :: atomic {
       work?s, id, is_detached ->
       executed[id]++;
       assert(executed[id] == 1);
       if
       :: !is_detached -> result[s] = id
       :: else
       fi
     }
    atomic {
      assert(state[s] == processing);
      if
      :: is_detached -> state[s] = free
      :: else -> state[s] = finished
      fi;
      s = 0;
      id = 0;
      is_detached = 0
    }
  od
}

/* Everything ends: no slot leaks, no lock, and what was issued was executed. */
proctype observer() {
  byte id = 0;
  waves_done == WAVES;
  state[0] == free && state[1] == free && state[2] == free && state[3] == free;
  assert(lock[0] == 0 && lock[1] == 0);
  atomic {
    do
    :: id < IDS -> assert(executed[id] == issued[id]); id++
    :: else -> break
    od
  }
}

init {
  atomic {
    run wave(0);
    run wave(1);
    run poller();
    run worker();
    run observer()
  }
}
