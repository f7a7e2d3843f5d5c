#include <bits/stdc++.h>
using namespace std;
struct G{struct promise_type{int v;
G get_return_object(){return{coroutine_handle<promise_type>::from_promise(*this)};
}suspend_always initial_suspend(){return{};
}suspend_always final_suspend()noexcept{return{};
}suspend_always yield_value(int x){v=x;
return{};
}
void return_void(){}
void unhandled_exception(){}};
coroutine_handle<promise_type>h;
};
G g(int n){for(int i=0; i<n; i++)co_yield i;
}
int main(){auto x=g(3);
x.h.resume();
cout<<x.h.promise().v;
jthread j([](stop_token){});
counting_semaphore<3>s(1);
s.acquire();
barrier b(1);
b.arrive_and_wait();
latch l(1);
l.count_down();
}
